// Emergency visits of a patient in a year.
data {
  int<lower=1> N;
  int<lower=1> J;                      // practices
  array[N] int<lower=0> visits;
  vector[N] age;                       // years
  array[N] int<lower=0, upper=1> smoker;
  array[N] int<lower=1, upper=J> practice;
}
transformed data {
  vector[N] decades = (age - 50) / 10;
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[J] z;
  real b_age;
  real b_smoker;
}
transformed parameters {
  vector[J] alpha = mu + tau * z;
}
model {
  mu ~ normal(0, 1.5);
  tau ~ normal(0, 0.5);
  z ~ std_normal();
  b_age ~ normal(0, 0.5);
  b_smoker ~ normal(0, 0.5);
  for (n in 1:N) {
    real eta = alpha[practice[n]] + b_age * decades[n];
    if (smoker[n] == 1)
      eta += b_smoker;
    visits[n] ~ poisson_log(eta);
  }
}
generated quantities {
  real ratio_smoker = exp(b_smoker);                             // of rates
  vector[J] rate = exp(alpha);                                   // of a non-smoker of 50 years
  int<lower=0, upper=1> a_above_b = rate[1] > rate[2];
  int visits_new_practice = poisson_log_rng(normal_rng(mu, tau));
  vector[N] log_lik;
  vector[N] visits_expected;
  array[N] int visits_rep;
  for (n in 1:N) {
    real eta = alpha[practice[n]] + b_age * decades[n] + b_smoker * smoker[n];
    log_lik[n] = poisson_log_lpmf(visits[n] | eta);
    visits_expected[n] = exp(eta);
    visits_rep[n] = poisson_log_rng(eta);
  }
}
