// E302 at 10:23
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real a;
  real<lower=0, upper=a> s;
}
model {
  a ~ normal(0, 1);
  x ~ normal(a, s);
}
