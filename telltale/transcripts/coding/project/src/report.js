import { readFileSync } from 'node:fs';

/** Reads lines of `day,what,cents`. Amounts stay in cents: their sums are exact. */
function readExpenses(text) {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [day, what, cents] = line.split(',');
      return { day, what, amount: Number(cents) };
    });
}

function table(expenses) {
  const total = expenses.reduce((sum, { amount }) => sum + amount, 0);
  const rows = [...expenses, { day: 'total', what: '', amount: total }];
  return rows
    .map(({ day, what, amount }) => day.padEnd(12) + what.padEnd(8) + (amount / 100).toFixed(2).padStart(8))
    .join('\n');
}

const [file] = process.argv.slice(2);
const expenses = readExpenses(readFileSync(file, 'utf8'));
console.log(table(expenses));
