// Many wishes lie in a file and come back as they went in.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { WishList } from '../../src/sources/wish-list.ts';
import { datasetWish } from '../pipeline/plan/support/make.ts';
import { tempDir } from '../support/temp-dir.ts';

const wishes = Array.from({ length: 12_345 }, (_, index) =>
  datasetWish(`m/d${index}`, ['r'], { title: `Größe ${index}` }),
);

it('gives back all wishes in their order, as often as asked', async () => {
  const folder = join(tempDir(), 'plans');
  const list = new WishList(folder);
  for (const wish of wishes) await list.add(wish);
  expect([list.length, list.keys.size]).toEqual([wishes.length, 2 * wishes.length]);
  expect(await list.all()).toEqual(wishes);
  expect(await list.all()).toEqual(wishes);
  expect(readdirSync(folder)).toEqual([]); // removed with the process, however that ends
  await list.close();
  await expect(list.all()).rejects.toThrow('closed');
});

it('gives one dataset with very many resources back as a page', async () => {
  const list = new WishList(tempDir());
  const many = datasetWish(
    'm/many',
    Array.from({ length: 5000 }, (_, index) => `r${index}`),
  );
  for (const wish of [wishes[0], many, wishes[1]]) if (wish) await list.add(wish);
  const sizes: number[] = [];
  for await (const page of list.pages()) sizes.push(page.length);
  expect(sizes).toEqual([2, 1]);
  await list.close();
});

it('gives back more datasets of a manifest than a call may have arguments', async () => {
  const [wish] = wishes;
  const list = WishList.of(Array.from({ length: 200_000 }, () => wish ?? datasetWish('m/d', [])));
  expect(await list.all()).toHaveLength(200_000);
});
