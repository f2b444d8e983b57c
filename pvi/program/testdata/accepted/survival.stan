// Times with right censoring, and densities of positive numbers.
data {
  int N;
  vector<lower=0>[N] t;
  array[N] int<lower=0, upper=1> dead;
  vector[N] x;
}
parameters {
  real a;
  real b;
  real<lower=0> shape;
}
model {
  a ~ normal(0, 1) ;
  b ~ cauchy(0, 1);
  shape ~ weibull(2, 1.5);
  for (n in 1:N) {
    real scale = exp(a + b * x[n]);
    if (dead[n] == 1 && t[n] > 0 || dead[n] > 1) {
      t[n] ~ weibull(shape, scale);
    } else {
      target += -(t[n] / scale) ^ shape;
    }
    t[n] ~ gamma(shape, inv(scale));
    t[n] ~ inv_gamma(shape, scale);
    t[n] ~ exponential(scale);
    x[n] ~ gumbel(a, shape);
    x[n] ~ logistic(a, shape);
    x[n] ~ double_exponential(b, shape);
  }
}
