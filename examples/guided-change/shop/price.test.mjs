import assert from 'node:assert/strict';
import test from 'node:test';
import { reduced } from './price.mjs';

test('rounds down below half a cent', () => assert.equal(reduced(1999, 10), 1799));
test('rounds 934.15 down', () => assert.equal(reduced(1099, 15), 934));
test('rounds half a cent up', () => assert.equal(reduced(9, 50), 5));
test('keeps whole cents', () => assert.equal(reduced(1000, 10), 900));
