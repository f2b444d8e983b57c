data {
  int N;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  vector<lower=0, upper=1>[N] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  e ~ beta(1, 1);
  for (n in 1:N) k[n] ~ poisson_log(a + s * e[n]);
}
