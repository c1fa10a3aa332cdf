"""Hand-ins: tables of courses (layouts), what others printed (logs of Keras, published runs), and checks of what was
handed in."""
