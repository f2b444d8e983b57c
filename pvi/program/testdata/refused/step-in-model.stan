// E210 at 14:15
data {
  int N;
  vector[N] x;
  vector[N] z;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  z ~ normal((a > 0 ? a : 0) * x, s);
}
