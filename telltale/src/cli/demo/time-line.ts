/** A bar of the stream's time with a mark where each action was handed over. */
export function timeLine(startedAt: readonly number[], seconds: number, width: number): string {
  const cells = Array.from({ length: width }, () => '─');
  for (const at of startedAt) {
    const cell = Math.min(width - 1, Math.floor((at / seconds) * width));
    cells[cell] = '▶';
  }
  return `├${cells.join('')}┤`;
}
