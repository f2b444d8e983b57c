// E204 at 11:3
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> s;
  vector[N] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  e ~ normal(0, s);
  x ~ normal(a + e, 1);
}
