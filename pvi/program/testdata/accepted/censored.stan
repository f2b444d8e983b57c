// Distribution functions of the row, for censored and truncated values.
data {
  int N;
  vector<lower=0>[N] t;
  array[N] int<lower=0, upper=6> how;
  vector[N] x;
}
parameters {
  real a;
  real b;
  real<lower=0> shape;
  real<lower=0> sigma;
  real<lower=0> rate;
}
model {
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  shape ~ lognormal(0, 1);
  sigma ~ student_t(3, 0, 1) T[0, ];
  rate ~ exponential(1);
  for (n in 1:N) {
    real mu = a + b * x[n];
    if (how[n] == 0)
      target += weibull_lccdf(t[n] | shape, exp(mu)) + weibull_lcdf(t[n] | shape, exp(mu));
    else if (how[n] == 1)
      target += lognormal_lccdf(t[n] | mu, sigma) + lognormal_lcdf(t[n] | mu, sigma);
    else if (how[n] == 2)
      target += exponential_lccdf(t[n] | rate) + exponential_lcdf(t[n] | rate);
    else if (how[n] == 3)
      target += normal_lccdf(x[n] | mu, sigma) + normal_lcdf(x[n] | mu, sigma);
    else if (how[n] == 4)
      target += logistic_lccdf(x[n] | mu, sigma) + logistic_lcdf(x[n] | mu, sigma);
    else if (how[n] == 5)
      target += gumbel_lccdf(x[n] | mu, sigma) + gumbel_lcdf(x[n] | mu, sigma);
    else
      target += log_diff_exp(normal_lcdf(t[n] | mu, sigma), normal_lcdf(-t[n] | mu, sigma));
    target += std_normal_lcdf((2 * (how[n] == 3) - 1) * mu);
    t[n] ~ lognormal(mu, sigma) T[ , 20];
    t[n] ~ weibull(shape, exp(mu)) T[0.01, ];
    x[n] ~ normal(mu, sigma) T[-9, t[n] + 5];
  }
  x ~ logistic(a, sigma) T[-9, ];
}
