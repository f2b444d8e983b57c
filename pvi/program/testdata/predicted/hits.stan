// The generated quantities are written by hand. The test leaves them out, and compares them with
// those that the compiler adds.
data {
  int<lower=0> N;
  array[N] int<lower=0> hits;
  array[N] int<lower=0> trials;
  vector[N] x;
}
parameters {
  real a;
  real b;
  real<lower=0> phi;
}
model {
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  phi ~ gamma(2, 0.1);
  for (n in 1:N) {
    real p = inv_logit(a + b * x[n]);
    hits[n] ~ beta_binomial(trials[n], p * phi, (1 - p) * phi);
  }
}
generated quantities {
  vector[N] log_lik;
  vector[N] hits_expected;
  for (n in 1:N) {
    real p = inv_logit(a + b * x[n]);
    log_lik[n] = beta_binomial_lpmf(hits[n] | trials[n], p * phi, (1 - p) * phi);
    hits_expected[n] = trials[n] * p;
  }
}
