// Functions of numbers, and densities written record by record.
data {
  int N;
  vector[N] x;
  vector<lower=0>[N] t;
  array[N] int<lower=0> k;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real b;
  real<lower=0> s;
  real<lower=-1, upper=1> r;
  real<upper=3> u;
}
model {
  a ~ normal(0, 2);
  b ~ student_t(4, 0.5, 1);
  s ~ gamma(2, 1.5);
  u ~ logistic(0, 1);
  for (n in 1:N) {
    real eta = a + b * x[n] + r * square(x[n]) / 3 - 0.1 * pow(x[n], 3);
    real p = inv_logit(eta);
    y[n] ~ bernoulli(p);
    k[n] ~ poisson(exp(0.3 * eta) + 0.2);
    t[n] ~ lognormal(eta / 4, s);
    target += -log1p(exp(u * x[n])) + 0.1 * tanh(eta) - 0.2 * sqrt(s + 1) + log1m(p);
    target += fmin(eta, 1) * 0.1 - abs(eta - u) + log1p_exp(eta) - inv(s + 2) + expm1(-s) * 0.01;
    target += logit(p) * 0.01 + Phi(eta) + lgamma(s + 1) + log_inv_logit(u) + fmax(a, b) * 0.1;
    target += x[n] > 0 ? eta * 0.2 : -u * 0.1;
  }
}
