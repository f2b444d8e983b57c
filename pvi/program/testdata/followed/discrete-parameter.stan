data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> s;
  real<lower=0, upper=1> c;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N)
    target += log_mix(c, normal_lpdf(x[n] | a, s), normal_lpdf(x[n] | 0, s));
}
