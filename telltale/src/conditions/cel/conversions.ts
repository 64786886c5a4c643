import { quote } from '../issue.ts';
import { checkedInt } from './operators.ts';
import { Stop } from './stop.ts';
import { durationText, timestampText } from './time.ts';
import { Duration, label, Timestamp, type Value } from './value.ts';

const INT = /^[+-]?\d{1,19}$/;
const DOUBLE = /^[+-]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][+-]?\d{1,4})?$/;

export function toInt(of: Value): bigint {
  if (typeof of === 'bigint') return of;
  if (typeof of === 'number' && Number.isFinite(of)) return checkedInt(BigInt(Math.trunc(of)));
  if (typeof of === 'string' && INT.test(of)) return checkedInt(BigInt(of.replace(/^\+/, '')));
  if (of instanceof Timestamp) return BigInt(Math.floor(of.ms / 1000));
  throw cannotConvert('int', of);
}

export function toDouble(of: Value): number {
  if (typeof of === 'bigint' || typeof of === 'number') return Number(of);
  if (typeof of === 'string' && DOUBLE.test(of)) return Number(of);
  throw cannotConvert('double', of);
}

export function toText(of: Value): string {
  if (typeof of === 'string') return of;
  if (typeof of === 'bigint' || typeof of === 'number' || typeof of === 'boolean') return String(of);
  if (of instanceof Timestamp) return timestampText(of);
  if (of instanceof Duration) return durationText(of);
  throw cannotConvert('string', of);
}

export function toBool(of: Value): boolean {
  if (typeof of === 'boolean') return of;
  if (of === 'true') return true;
  if (of === 'false') return false;
  throw cannotConvert('bool', of);
}

function cannotConvert(to: string, of: Value): Stop {
  const what = typeof of === 'string' ? `the string ${quote(of)}` : label(of);
  return new Stop('bad_value', `${to}() cannot convert ${what}.`);
}
