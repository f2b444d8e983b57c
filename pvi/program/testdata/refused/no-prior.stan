// E301 at 9:3
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  s ~ normal(0, 1);
  x ~ normal(a, s);
}
