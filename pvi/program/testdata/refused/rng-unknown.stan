// E403 at 17:21
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
  z ~ normal(a * x, s);
}
generated quantities {
  vector[2] new_a = multi_normal_rng([a, a]', s);
}
