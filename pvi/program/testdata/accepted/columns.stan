// A regression with a matrix of regressors, a group, and densities of whole columns.
data {
  int<lower=0> N;
  int K;
  int J;
  matrix[N, K] X;
  vector[N] z;
  array[N] int<lower=1, upper=J> g;
  vector[K] scale;
}
transformed data {
  vector[N] centred = (z - 1) / 2;
}
parameters {
  real alpha;
  vector[K] beta;
  vector[J] effect;
  real<lower=0> tau;
  real<lower=0> sigma;
}
transformed parameters {
  vector[N] mu = alpha + X * beta;
}
model {
  vector[N] location;
  for (n in 1:N) {
    location[n] = mu[n] + tau * effect[g[n]];
  }
  alpha ~ normal(0, 5);
  beta ~ normal(0, scale);
  effect ~ std_normal();
  tau ~ cauchy(0, 1);
  sigma ~ exponential(1.5);
  centred ~ normal(location, sigma);
  target += student_t_lpdf(z | 5, mu, sigma + 1);
}
