// Ordered classes, overdispersed proportions, seasons, and correlated effects of groups.
data {
  int N;
  array[N] int<lower=1, upper=4> grade;
  array[N] int<lower=0> trials;
  array[N] int<lower=0> hits;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=1, upper=2> g;
}
parameters {
  ordered[3] c;
  real b;
  real<lower=0> phi;
  cholesky_factor_corr[3] L;
  vector[2] u;
  real v;
}
model {
  c ~ normal(0, 2);
  b ~ normal(0, 1);
  phi ~ gamma(2, 1);
  L ~ lkj_corr_cholesky(2);
  u ~ normal(0, 1);
  v ~ normal(0, 1);
  for (n in 1:N) {
    real mu = b * x[n] + u[g[n]] * (L[2, 1] + L[2, 2] * z[n]) + v * (L[3, 1] * cos(z[n]) + L[3, 2] * sin(z[n]) + L[3, 3]);
    grade[n] ~ ordered_probit(mu, c);
    grade[n] ~ ordered_logistic(mu, c);
    hits[n] ~ beta_binomial(trials[n], phi * inv_logit(mu), phi * inv_logit(-mu));
    target += lchoose(trials[n], hits[n]) * log_sum_exp(mu, v) + lbeta(phi, 1 + square(mu));
  }
}
