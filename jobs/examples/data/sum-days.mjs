// Sums the cars of all roads per day. Rows come and go one by one, as objects of text by column.
export async function* transform(rows) {
  const cars = new Map();
  for await (const { day, cars: count } of rows) cars.set(day, (cars.get(day) ?? 0) + Number(count));
  for (const [day, total] of cars) yield { day, cars: total };
}
