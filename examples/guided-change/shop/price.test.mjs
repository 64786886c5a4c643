import assert from 'node:assert/strict';
import test from 'node:test';
import { reduced } from './price.mjs';

test('rounds half up', () => assert.equal(reduced(1999, 10), 1799));
test('and up above the half', () => assert.equal(reduced(1099, 15), 934));
test('rounds 4.5 up', () => assert.equal(reduced(9, 50), 5));
test('leaves whole cents alone', () => assert.equal(reduced(1000, 10), 900));
