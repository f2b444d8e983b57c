// Generalised linear models in one statement, sums over the records, and factors of the prior.
data {
  int N;
  int K;
  matrix[N, K] X;
  array[N] int<lower=0, upper=1> y;
  array[N] int<lower=0> k;
  vector[N] z;
  vector<lower=0, upper=1>[N] share;
}
parameters {
  real a;
  vector[K] b;
  real<lower=0> s;
}
model {
  real penalty = 0;
  a ~ std_normal();
  b[1] ~ normal(0, 1);
  b[2:K] ~ normal(1, exp(a));
  s ~ chi_square(3);
  sum(b) ~ normal(0, 0.5);
  target += -0.1 * dot_self(b) * s;
  y ~ bernoulli_logit_glm(X, a, b);
  k ~ poisson_log_glm(X, a, b);
  z ~ normal_id_glm(X, a, b, s);
  target += neg_binomial_2_log_glm_lupmf(k | X, a, b, s);
  target += -N * log(s + 1) + 0.5 * sum(z .* (X * b)) / s;
  for (n in 1:N)
    penalty += z[n] * a;
  target += -0.01 * penalty;
  share ~ beta(s + 1, 2);
}
