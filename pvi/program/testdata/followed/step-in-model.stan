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
  z ~ normal(fmax(a, 0) * x, s);
}
generated quantities {
  int positive = a > 0;
}
