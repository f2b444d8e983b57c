// E203 at 9:22
data {
  int N;
  vector[N] x;
  vector[N] z;
  array[N] int<lower=0, upper=1> y;
}
transformed data {
  vector[N] d = (x - mean(x)) / sd(x);
}
parameters {
  real a;
  real<lower=0> s;
}
model {
  a ~ normal(0, 1);
  s ~ normal(0, 1);
  x ~ normal(a * d, s);
}
