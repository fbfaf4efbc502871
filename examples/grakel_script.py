"""A script written for GraKeL, with the one line that changes. It needs neither GraKeL nor the network to run."""

from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import fastgntk as fg

# With GraKeL: data = fetch_dataset("MUTAG"); G, y = data.data, data.target. Its form of graphs is accepted too.
data = fg.datasets.load("MUTAG")
G, y = list(data.graphs), data.y
G_train, G_test, y_train, y_test = train_test_split(G, y, test_size=0.2, random_state=0, stratify=y)

# kernel = grakel.WeisfeilerLehman(n_iter=4, normalize=True)
kernel = fg.compat.grakel.GrakelKernel(fg.GNTK(blocks=4).normalized())

K_train = kernel.fit_transform(G_train)
K_test = kernel.transform(G_test)

svm = SVC(kernel="precomputed", C=1000).fit(K_train, y_train)
print(f"accuracy: {100 * accuracy_score(y_test, svm.predict(K_test)):.1f} %")
