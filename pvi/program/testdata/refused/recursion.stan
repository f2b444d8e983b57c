// E401 at 4:12
functions {
  real f(real x) {
    return f(x - 1);
  }
}
data {
  int N;
  vector[N] x;
}
parameters {
  real a;
}
model {
  a ~ normal(0, 1);
  x ~ normal(f(a), 1);
}
