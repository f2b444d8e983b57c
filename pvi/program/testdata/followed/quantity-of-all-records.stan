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
  vector[N] distance = square(z - a * x);
}
