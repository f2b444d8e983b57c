// Infections of a patient, in the years in which the patient was followed.
data {
  int<lower=1> N;
  array[N] int<lower=0> infections;
  vector<lower=0>[N] years;
  vector[N] age;                       // years
  array[N] int<lower=0, upper=1> treated;
}
parameters {
  real a;
  real b_age;
  real b_treated;
  real<lower=0> sigma;
  vector[N] eps;                       // one for each patient, integrated out
}
model {
  a ~ normal(0, 1.5);
  b_age ~ normal(0, 0.5);
  b_treated ~ normal(0, 0.5);
  sigma ~ lognormal(-0.5, 0.5);
  eps ~ normal(0, sigma);
  for (n in 1:N)
    infections[n] ~ poisson_log(log(years[n]) + a + b_age * (age[n] - 52) / 15 + b_treated * treated[n] + eps[n]);
}
generated quantities {
  real ratio_treated = exp(b_treated); // of rates
}
