// The tools of this example. The new ledger is a folder of the session's own in the system's temporary folder, so that
// a run which was killed goes on with what it had, and two runs do not meet, nor two users of the machine.
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {{ agent: { session_id: string }, signal: AbortSignal, progress: (data: unknown) => void }} Context */
/** @typedef {{ record: number, day: string, amount: string }} Entry */

const LEDGER = new URL('../ledger.csv', import.meta.url);
const BATCH = 10;
const LOOK_MS = 10;

/** @param {Pick<Context, 'agent'>} context */
export const folderOf = ({ agent }) => join(tmpdir(), `telltale-long-task-${agent.session_id}`);

/** @param {Context} context */
async function workFolder(context) {
  const folder = folderOf(context);
  await mkdir(folder, { recursive: true });
  return folder;
}

/** @returns {Promise<Entry[]>} */
async function oldLedger() {
  const lines = (await readFile(LEDGER, 'utf8')).trim().split('\n');
  return lines.map((line) => {
    const [record = '', day = '', , amount = ''] = line.split(',');
    return { record: Number(record), day, amount };
  });
}

/**
 * Records whose amounts were fixed by hand.
 * @param {string} folder
 * @returns {Promise<Record<string, string>>}
 */
async function fixed(folder) {
  const file = join(folder, 'fixed.json');
  return existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : {};
}

/** @param {string} folder */
const batchesIn = async (folder) =>
  (await readdir(folder)).filter((name) => name.startsWith('batch-')).sort();

/** @param {Entry[]} entries */
const cents = (entries) => entries.reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0);

/** @param {unknown} _ @param {Context} context */
export async function inspect(_, context) {
  const folder = await workFolder(context);
  // What an older writer left behind when it was killed: the second batch will meet it.
  await writeFile(join(folder, 'lock-2'), '');
  const entries = await oldLedger();
  /** @type {Record<string, number[]>} */
  const months = {};
  for (const { record, day } of entries) {
    const month = day.slice(0, 7);
    months[month] = [...new Set([...(months[month] ?? []), Math.ceil(record / BATCH)])];
  }
  return { records: entries.length, months };
}

/** @param {{ batch: number }} parameters @param {Context} context */
export async function copyBatch({ batch }, context) {
  const folder = await workFolder(context);
  const lock = join(folder, `lock-${batch}`);
  if (existsSync(lock)) {
    await rm(lock, { force: true });
    throw new Error('the new ledger was locked by a writer that is gone; the lock is off now');
  }
  const amounts = await fixed(folder);
  const entries = (await oldLedger()).slice((batch - 1) * BATCH, batch * BATCH).map((entry) => ({
    ...entry,
    amount: amounts[entry.record] ?? entry.amount,
  }));
  const odd = entries.find(({ amount }) => !/^\d+\.\d\d$/.test(amount));
  if (odd !== undefined)
    throw new Error(`record ${odd.record} has the amount "${odd.amount}", which is no number`);
  await writeFile(join(folder, `batch-${batch}.json`), JSON.stringify(entries));
  return { batch, records: entries.length };
}

/** @param {{ batch: number }} parameters @param {Context} context */
export async function dropBatch({ batch }, context) {
  await rm(join(await workFolder(context), `batch-${batch}.json`), { force: true });
  return { batch, records: 0 };
}

/** @param {{ record: number, amount: string }} parameters @param {Context} context */
export async function fixRecord({ record, amount }, context) {
  const folder = await workFolder(context);
  await writeFile(join(folder, 'fixed.json'), JSON.stringify({ ...(await fixed(folder)), [record]: amount }));
  return { record, amount };
}

/** @param {unknown} _ @param {Context} context */
export async function watch(_, context) {
  const folder = await workFolder(context);
  let most = 0;
  for (;;) {
    const isLast = existsSync(join(folder, 'watch-ended'));
    const { length } = await batchesIn(folder);
    if (length > most) context.progress(`${length} batches`);
    most = Math.max(most, length);
    if (isLast) return `${most} batches`;
    await sleep(LOOK_MS, undefined, { signal: context.signal });
  }
}

/** @param {unknown} _ @param {Context} context */
export async function endWatch(_, context) {
  await writeFile(join(await workFolder(context), 'watch-ended'), '');
  return 'ended';
}

/** @param {{ month?: string }} parameters @param {Context} context */
export async function checkSums({ month = '' }, context) {
  const folder = await workFolder(context);
  const amounts = await fixed(folder);
  const old = (await oldLedger()).map((entry) => ({
    ...entry,
    amount: amounts[entry.record] ?? entry.amount,
  }));
  /** @type {Entry[]} */
  const moved = [];
  for (const name of await batchesIn(folder))
    moved.push(...JSON.parse(await readFile(join(folder, name), 'utf8')));
  /** @param {Entry[]} entries */
  const sum = (entries) => cents(entries.filter(({ day }) => day.startsWith(month)));
  if (sum(old) !== sum(moved))
    throw new Error(`the old ledger has ${sum(old)} cents, the new one ${sum(moved)}`);
  return {
    month: month || 'all',
    records: moved.filter(({ day }) => day.startsWith(month)).length,
    cents: sum(moved),
  };
}
