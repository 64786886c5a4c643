/**
 * Whether the day that an ISO 8601 time begins with is in the calendar. `Date.parse` takes 30 February for 2 March, so
 * that a slip would count, on another day.
 */
export function beginsWithADay(time: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(time) ?? [];
  if (day === undefined) return false;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day)); // Date.UTC would read the year 0099 as 1999
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}
