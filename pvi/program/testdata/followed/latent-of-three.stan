data {
  int N;
  vector[N] x;
  array[N] int<lower=0> k;
  array[N] int<lower=1> g;
}
parameters {
  real a;
  real<lower=0> s;
  array[N] vector[2] e;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  for (n in 1:N) {
    e[n] ~ normal(0, s);
    x[n] ~ normal(a + sum(e[n]), 1);
  }
}
