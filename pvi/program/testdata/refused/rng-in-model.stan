// E401 at 14:14
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
  z ~ normal(normal_rng(a, s), 1);
}
