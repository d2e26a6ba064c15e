// True labels: a column of the table, sorted by the error of the model.

labelColumns.push(({ truth: { texts, errors, shares } }) => {
  const error = (row) => (shares ? `${(100 * (1 - errors[row])).toPrecision(3)}\u00a0%` : `off by ${number(errors[row])}`);
  return { key: "truth", title: "True value", of: (row) => errors[row], text: (row) => `${texts[row]} (${error(row)})` };
});
