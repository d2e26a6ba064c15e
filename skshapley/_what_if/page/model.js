// The model of a what-if page: predictions, and exact Shapley values against background rows.

function unpacked(text, Numbers) {
  return new Numbers(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

// A sum with one number for each column and output.
class SumTerm {
  constructor(record) {
    Object.assign(this, record);
    this.owners = record.inputs.map((input) => input.of);
  }

  state(numbers) {
    return numbers;
  }

  predict(x) {
    const sums = [...this.constant];
    this.outputs.forEach((output, i) => (sums[output] += x[i]));
    return sums;
  }

  add(values, x, z, output) {
    this.outputs.forEach((of, i) => {
      if (of === output) values[this.owners[i]] += x[i] - z[i];
    });
  }
}

// The logistic function of a sum. It is a sum of waves, and a wave of a sum is the product of
// the columns' waves: Owen (1972), Gradshteyn & Ryzhik 3.981.1; see closed_forms/_waves.py.
class LogisticTerm extends SumTerm {
  score(x) {
    return super.predict(x)[0];
  }

  predict(x) {
    const share = 1 / (1 + Math.exp(-this.score(x)));
    return this.factors.map((factor, output) => factor * share + this.offsets[output]);
  }

  add(values, x, z, output) {
    const all = x.map((number, i) => number - z[i]);
    const active = [...all.keys()].filter((i) => all[i] !== 0);
    const steps = Float64Array.from(active, (i) => all[i]);
    const shares = this.shares(this.score(z), steps);
    active.forEach((i, place) => (values[this.owners[i]] += this.factors[output] * shares[place]));
  }

  // The product of all columns' factors is divided by each factor 1 + node (e^(iw) - 1). A node t
  // and 1 - t have conjugate products, so nodes below 1/2 are sufficient; there, no factor is 0.
  shares(start, steps) {
    const { nodes, weights } = this;
    const p = steps.length;
    const sum = (some) => some.reduce((total, step) => total + step, 0);
    const end = start + sum(steps);
    const reach = Math.ceil(Math.max(1, start + sum(steps.filter((s) => s > 0)), -start - sum(steps.filter((s) => s < 0))));
    const width = (2 * Math.PI) / (reach + TAIL);
    const shares = new Float64Array(p);
    const cosines = new Float64Array(p); // less 1
    const sines = new Float64Array(p);
    const n = Math.ceil((TAIL * (reach + TAIL)) / (2 * Math.PI ** 2));
    for (let wave = 0; wave < n; wave++) {
      const frequency = width * (wave + 0.5);
      const size = width / Math.sinh(Math.PI * frequency);
      for (let i = 0; i < p; i++) {
        cosines[i] = Math.cos(frequency * steps[i]) - 1;
        sines[i] = Math.sin(frequency * steps[i]);
      }
      const real = size * (Math.cos(frequency * start) + Math.cos(frequency * end));
      const imaginary = size * (Math.sin(frequency * start) - Math.sin(frequency * end));
      for (let at = 0; at < nodes.length; at++) {
        const node = nodes[at];
        let productReal = weights[at] * real;
        let productImaginary = weights[at] * imaginary;
        for (let i = 0; i < p; i++) {
          const factorReal = 1 + node * cosines[i];
          const factorImaginary = node * sines[i];
          const before = productReal;
          productReal = before * factorReal - productImaginary * factorImaginary;
          productImaginary = before * factorImaginary + productImaginary * factorReal;
        }
        const slope = (1 - 2 * node) * productImaginary;
        const curvature = 2 * node * (1 - node);
        for (let i = 0; i < p; i++) shares[i] += (productReal * sines[i] + slope * cosines[i]) / (1 + curvature * cosines[i]);
      }
    }
    return shares;
  }
}
const TAIL = 25; // the waves err by exp(-TAIL)

// Tables of two columns: the mean over both orders of the columns.
class PairsTerm {
  constructor({ tables, inputs }, k) {
    this.k = k;
    this.owners = inputs.map((input) => input.of);
    this.tables = tables.map(({ columns, size, values }) => {
      const numbers = unpacked(values, Float64Array);
      const at = (first, second, output) => numbers[(first * size + second) * k + output];
      return { columns, at };
    });
  }

  state(numbers) {
    return numbers;
  }

  predict(x) {
    const sums = new Array(this.k).fill(0);
    for (const { columns: [i, j], at } of this.tables) sums.forEach((_, output) => (sums[output] += at(x[i], x[j], output)));
    return sums;
  }

  add(values, x, z, output) {
    for (const { columns: [i, j], at } of this.tables) {
      const gain = at(x[i], x[j], output) - at(z[i], z[j], output);
      const cross = at(x[i], z[j], output) - at(z[i], x[j], output);
      values[this.owners[i]] += 0.5 * (gain + cross);
      values[this.owners[j]] += 0.5 * (gain - cross);
    }
  }
}

// Decision trees in preorder: the left child of a node is the next one.
class TreesTerm {
  constructor(record, k) {
    const { inputs, strict, single, base, outputs, numbers, categories } = record;
    Object.assign(this, { k, strict, single, base, outputs, numbers, categories });
    this.thresholds = inputs.map((_, i) => (record.thresholds[i] ? unpacked(record.thresholds[i], Float64Array) : []));
    this.rows = unpacked(record.rows, record.wide ? Int32Array : Int16Array);
    this.values = unpacked(record.values, Float64Array);
    const tables = categories.flatMap(([input, table]) => table.map(() => input));
    this.owners = [...numbers.map(([input]) => input), ...tables].map((input) => inputs[input].of);
    this.place(unpacked(record.ranks, record.deep ? Uint32Array : Uint16Array));
    // weights 1 / (a C(a + b, a)) of a leaf with a columns of the row, and b of the background row
    const most = new Set(this.owners).size + 1;
    this.shares = Array.from({ length: most + 1 }, () => new Float64Array(most + 1));
    for (let a = 1; a <= most; a++) {
      this.shares[a][0] = 1 / a;
      for (let b = 1; b <= most; b++) this.shares[a][b] = (this.shares[a][b - 1] * b) / (a + b);
    }
  }

  // The right child, the rank and the first value of each node, and the root of each tree.
  place(ranks) {
    const n = this.rows.length;
    this.right = new Int32Array(n);
    this.rank = new Int32Array(n);
    this.first = new Int32Array(n);
    let [inner, value, width] = [0, 0, 1];
    const place = (node) => {
      if (this.rows[node] < 0) {
        this.first[node] = value;
        value += width;
        return node + 1;
      }
      this.rank[node] = ranks[inner++];
      this.right[node] = place(node + 1);
      return place(this.right[node]);
    };
    let root = 0;
    this.roots = this.outputs.map((output) => {
      const start = root;
      width = output < 0 ? this.k : 1;
      root = place(start);
      return start;
    });
  }

  // The codes that the nodes compare: ranks among the thresholds, and sides of categories.
  state(numbers) {
    const lost = numbers.map(Number.isNaN);
    const x = this.single ? numbers.map(Math.fround) : numbers;
    const codes = this.numbers.map(([input, missingLeft, zeroMissing]) => {
      const thresholds = this.thresholds[input];
      if (lost[input] || (zeroMissing && Math.abs(x[input]) <= ZERO)) return missingLeft ? 0 : thresholds.length;
      let [low, high] = [0, thresholds.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (thresholds[middle] < x[input] || (this.strict && thresholds[middle] === x[input])) low = middle + 1;
        else high = middle;
      }
      return low;
    });
    for (const [input, table] of this.categories) {
      const n = table[0].length - 2;
      const category = lost[input] ? n + 1 : x[input] >= 0 && x[input] < n ? Math.trunc(x[input]) : n;
      for (const line of table) codes.push(line[category]);
    }
    return Int32Array.from(codes);
  }

  predict(codes) {
    const sums = [...this.base];
    this.roots.forEach((root, tree) => {
      let node = root;
      while (this.rows[node] >= 0) node = codes[this.rows[node]] <= this.rank[node] ? node + 1 : this.right[node];
      const output = this.outputs[tree];
      if (output >= 0) sums[output] += this.values[this.first[node]];
      else for (let k = 0; k < this.k; k++) sums[k] += this.values[this.first[node] + k];
    });
    return sums;
  }

  // Row and background row descend together, and part where they differ.
  add(values, x, z, output) {
    const { rows, rank, right, first, owners, shares, values: leaves } = this;
    const sides = new Int8Array(values.length); // 1: the column is the row's, 2: the background row's
    let [present, absent, gain, loss, offset] = [0, 0, 0, 0, 0];
    const descend = (node) => {
      const row = rows[node];
      if (row < 0) {
        const value = leaves[first[node] + offset];
        gain = value * shares[present][absent];
        loss = value * shares[absent][present];
        return;
      }
      const xLeft = x[row] <= rank[node];
      const zLeft = z[row] <= rank[node];
      const xChild = xLeft ? node + 1 : right[node];
      const zChild = zLeft ? node + 1 : right[node];
      const owner = owners[row];
      if (xLeft === zLeft || sides[owner] === 1) return descend(xChild);
      if (sides[owner] === 2) return descend(zChild);
      sides[owner] = 1;
      present++;
      descend(xChild);
      present--;
      const [xGain, xLoss] = [gain, loss];
      sides[owner] = 2;
      absent++;
      descend(zChild);
      absent--;
      sides[owner] = 0;
      values[owner] += xGain - loss;
      gain += xGain;
      loss += xLoss;
    };
    this.roots.forEach((root, tree) => {
      const of = this.outputs[tree];
      if (of >= 0 && of !== output) return;
      offset = of < 0 ? output : 0;
      descend(root);
    });
  }
}
const ZERO = Math.fround(1e-35); // LightGBM treats smaller numbers as zero

const TERMS = { sum: SumTerm, logistic: LogisticTerm, pairs: PairsTerm, trees: TreesTerm };

// What each class's probability is, from the response.
const sigmoid = (score) => 1 / (1 + Math.exp(-score));
const PROBABILITIES = {
  two: ([score]) => [sigmoid(-score), sigmoid(score)],
  complement: ([share]) => [1 - share, share],
  identity: (shares) => shares,
  each: (scores) => scores.map(sigmoid),
  softmax: (scores) => {
    const most = Math.max(...scores);
    const sizes = scores.map((score) => Math.exp(score - most));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    return sizes.map((size) => size / total);
  },
};

class PageModel {
  constructor(data) {
    this.data = data;
    this.terms = data.terms.map((record) => new TERMS[record.kind](record, data.n_outputs));
    const { background, weights } = data;
    this.rows = weights.map((_, row) => this.states(background.map((column) => column[row])));
    const predictions = this.rows.map((states) => this.sum(states));
    this.base = predictions[0].map((_, k) => weights.reduce((total, weight, row) => total + weight * predictions[row][k], 0));
  }

  // A row's numbers for each term. Cells are numbers, null for missing ones, or codes of values.
  states(cells) {
    return this.terms.map((term, place) => term.state(Float64Array.from(this.data.terms[place].inputs, (input) => {
      const cell = cells[input.of];
      const missing = "table" in input ? cell < 0 : cell === null;
      if (missing) return input.missing ?? NaN;
      return "table" in input ? (input.table[cell] ?? NaN) : input.slope * cell + input.offset;
    })));
  }

  sum(states) {
    const parts = this.terms.map((term, place) => term.predict(states[place]));
    return parts[0].map((_, k) => parts.reduce((total, part) => total + part[k], 0));
  }

  predict(cells) {
    return this.sum(this.states(cells));
  }

  // The values of the columns, and their standard errors for the choice of background rows.
  explain(cells, output) {
    const states = this.states(cells);
    const { weights } = this.data;
    const n = weights.length;
    const p = cells.length;
    const single = this.rows.map((row) => {
      const values = new Float64Array(p);
      this.terms.forEach((term, place) => term.add(values, states[place], row[place], output));
      return values;
    });
    const mean = (of) => weights.reduce((total, weight, row) => total + weight * of(single[row]), 0);
    const values = cells.map((_, j) => mean((row) => row[j]));
    const share = Math.hypot(...weights) * Math.sqrt(n / Math.max(1, n - 1));
    const errors = values.map((value, j) => share * Math.sqrt(mean((row) => (row[j] - value) ** 2)));
    return { values, errors, base: this.base[output], predictions: this.sum(states) };
  }
}
