import { expect, it } from 'vitest';
import { remoteKey } from '../../../src/server/http/access.ts';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
  ['2001::5:6:7:8:9', '2001:0:0:5'],
  ['::1', '0:0:0:0'],
  ['2001:db8::', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['fe80::%a::b', 'fe80:0:0:0'],
  ['', ''],
])('requests from %s are counted as those of %s', (address, key) => {
  expect(remoteKey(address)).toBe(key);
});
