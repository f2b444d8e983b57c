// Counts: hurdle, trials, negative binomial, offsets.
data {
  int N;
  array[N] int<lower=0> y;
  array[N] int<lower=0> trials;
  array[N] int<lower=0> hits;
  vector[N] x;
  vector<lower=0>[N] exposure;
}
parameters {
  real a;
  real b;
  real<lower=0> phi;
  real<lower=0, upper=1> zero;
}
model {
  vector[N] eta = a + b * x;
  a ~ double_exponential(0, 1);
  b ~ normal(0, 1);
  phi ~ lognormal(0, 1);
  for (n in 1:N) {
    if (y[n] == 0) {
      target += log(zero);
    } else {
      target += log1m(zero) + poisson_log_lpmf(y[n] | eta[n]) - log1m(exp(-exp(eta[n])));
    }
  }
  hits ~ binomial_logit(trials, eta);
  hits ~ binomial(trials, inv_logit(a - b * x));
  y ~ neg_binomial_2_log(eta + log(exposure), phi);
  y ~ neg_binomial_2(exp(a) * exposure, phi);
  y ~ poisson_log(eta);
}
