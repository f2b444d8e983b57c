data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> upper_1;
}
model {
  a ~ normal(0, 1);
  upper_1 ~ normal(0, 1);
  x ~ normal(a, upper_1);
}
