// E302 at 11:3
data {
  int N;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  vector[N] e;
  vector[N] f;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  e ~ normal(f, s);
  f ~ normal(e, s);
  k ~ poisson_log(a + e);
}
