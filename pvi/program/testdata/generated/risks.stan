// Generated quantities of parameters and of records.
functions {
  real odds(real p) {
    return p / (1 - p);
  }
}
data {
  int<lower=0> N;
  int<lower=1> J;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1, upper=J> site;
}
parameters {
  real a;
  real b;
  real<lower=0> shape;
  vector[J] effect;
  ordered[2] cut;
}
model {
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  shape ~ gamma(2, 0.1);
  effect ~ normal(0, 1);
  cut ~ normal(0, 1);
  for (n in 1:N)
    k[n] ~ neg_binomial_2_log(a + b * x[n] + effect[site[n]], shape);
}
generated quantities {
  real ratio = exp(b);
  real chance = odds(inv_logit(a)) + Phi(cut[1]);
  vector[J] rate = exp(a + effect);
  int<lower=0, upper=1> larger = rate[1] > rate[2];
  matrix[2, J] both;
  real total = 0;
  vector[N] log_lik;
  vector[N] expected;
  array[N] vector[2] parts;
  for (j in 1:J) {
    both[1, j] = effect[j] - mean(effect);
    both[2, j] = softmax(effect)[j];
    total += rate[j] * j;
  }
  for (n in 1:N) {
    real eta = a + b * x[n] + effect[site[n]];
    log_lik[n] = neg_binomial_2_log_lpmf(k[n] | eta, shape);
    expected[n] = exp(eta);
    parts[n] = [eta - a, eta > cut[2] ? lgamma(shape) : log1p_exp(eta)]';
  }
}
