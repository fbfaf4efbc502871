"""The kernel as a step of a scikit-learn pipeline, with its depth and the C of the SVM chosen by cross-validation."""

import warnings

from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

import fastgntk as fg

# Some labels are so rare that they are missing in four of five folds.
warnings.simplefilter("ignore", fg.UnseenLabelWarning)

data = fg.datasets.load("MUTAG")
train, test, y_train, y_test = train_test_split(data.graphs, data.y, test_size=0.2, random_state=0, stratify=data.y)

steps = Pipeline([("gram", fg.KernelTransformer()), ("svm", SVC(kernel="precomputed"))])
options = {"gram__kernel": [fg.GNTK(blocks).normalized() for blocks in (1, 2, 4)], "svm__C": [10, 100, 1000]}
search = GridSearchCV(steps, options, cv=5).fit(train, y_train)

print("chosen:", search.best_params_)
print(f"accuracy: {100 * search.score(test, y_test):.1f} %")
