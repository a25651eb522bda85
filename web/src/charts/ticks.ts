/** Round numbers inside [low, high], about `count` of them. */
export function niceTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return Number.isFinite(low) ? [low] : [];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
  const ticks: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k += 1) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

/** Powers of ten, with 2 and 5 between them when there are few. */
export function logTicks(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const parts = last - first <= 3 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let e = first; e <= last; e += 1) {
    for (const m of parts) {
      const value = Number(`${m}e${e}`);
      if (value >= low && value <= high) ticks.push(value);
    }
  }
  return ticks;
}

export interface Scale {
  ticks: number[];
  at: (value: number) => number;
}

/** Values to places: `from` and `to` are pixels. */
export function makeScale(
  [low, high]: [number, number],
  [from, to]: [number, number],
  isLog = false,
  count = 6,
): Scale {
  if (isLog && low > 0) {
    const a = Math.log(low);
    const span = Math.log(high) - a || 1;
    return {
      ticks: logTicks(low, high),
      at: (v) => from + ((Math.log(v) - a) / span) * (to - from),
    };
  }
  const span = high - low || 1;
  return {
    ticks: niceTicks(low, high, count),
    at: (v) => from + ((v - low) / span) * (to - from),
  };
}
