// The generated quantities are written by hand. The test leaves them out, and compares them with
// those that the compiler adds.
data {
  int<lower=0> N;
  vector[N] t;
  vector[N] x;
}
parameters {
  real a;
  real b;
  real<lower=0> shape;
}
model {
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  shape ~ lognormal(0, 1);
  for (n in 1:N) {
    real mu = a + b * x[n];
    t[n] ~ weibull(shape, exp(mu - lgamma(1 + 1 / shape)));
  }
}
generated quantities {
  vector[N] log_lik;
  vector[N] t_expected;
  for (n in 1:N) {
    log_lik[n] = weibull_lpdf(t[n] | shape, exp(a + b * x[n] - lgamma(1 + 1 / shape)));
    t_expected[n] = exp(a + b * x[n]);
  }
}
