data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
  int J;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  vector[12] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  e ~ normal(0, s);
  x ~ normal(a + e[g], 1);
}
