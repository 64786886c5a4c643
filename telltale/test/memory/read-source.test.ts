import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isMinified, readSource } from '../../src/memory/index/read-source.ts';

const MIB = 1024 * 1024;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'telltale-source-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (content: string | Buffer) => {
  writeFileSync(join(folder, 'x'), content);
  return readSource(join(folder, 'x'));
};
const sha = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

describe('a file', () => {
  it('is its text, without a byte order mark, and the hash of its bytes', () => {
    expect(read('ü\n')).toEqual({ hash: sha('ü\n'), text: 'ü\n' });
    expect(read('\ufeffü')).toEqual({ hash: sha('\ufeffü'), text: 'ü' });
    expect(read('')).toEqual({ hash: sha(''), text: '' });
  });

  it('with a NUL in its first 8 KiB is binary, and with one behind them is not', () => {
    const at = (place: number) =>
      read(Buffer.concat([Buffer.alloc(place, 'x'), Buffer.from([0]), Buffer.from('y')]));
    expect([at(0).note, at(8 * 1024 - 1).note, at(8 * 1024).note]).toEqual(['binary', 'binary', undefined]);
  });

  it('of up to 1 MiB is read, and a larger one is known by name, size, time and head only', () => {
    expect(read('x'.repeat(MIB))).toHaveProperty('text');
    const large = read('x'.repeat(MIB + 1));
    expect(large).toEqual({ hash: large.hash, note: 'too_large' });
    expect(read(`${'x'.repeat(MIB)}y`).note).toBe('too_large');
    expect(read(Buffer.alloc(MIB + 1)).note).toBe('binary');
    const [one, other] = [read('z'.repeat(MIB + 1)).hash, read('z'.repeat(MIB + 2)).hash];
    expect(one).not.toBe(other);
    utimesSync(join(folder, 'x'), 1, 1);
    expect(readSource(join(folder, 'x')).hash).not.toBe(other);
  });

  it('is not read through a link', () => {
    writeFileSync(join(folder, 'secret'), 'x');
    symlinkSync(join(folder, 'secret'), join(folder, 'link'));
    expect(() => readSource(join(folder, 'link'))).toThrow(/ELOOP/);
  });
});

describe('source that a program wrote', () => {
  it('has a very long line, or long ones on average, and is not short', () => {
    const lines = (count: number, length: number) => `${'x'.repeat(length)}\n`.repeat(count);
    expect(isMinified('x'.repeat(4_095))).toBe(false);
    expect(isMinified('x'.repeat(4_096))).toBe(true);
    expect(isMinified(lines(100, 499))).toBe(false);
    expect(isMinified(lines(100, 500))).toBe(true);
    expect(isMinified(`${lines(1_000, 10)}${'x'.repeat(20_000)}\n`)).toBe(false);
    expect(isMinified(`${lines(1_000, 10)}${'x'.repeat(20_001)}\n`)).toBe(true);
  });
});
