// Holds a stopped process and, where that is allowed, a disk on a leash, says which, and waits to be killed.
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLeash } from './open-leash.ts';

const leash = openLeash();
const folder = mkdtempSync(join(tmpdir(), 'telltale-leash-'));
await leash.mount(folder, 1);
const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
leash.hold(child.pid ?? 0);
child.kill('SIGSTOP');
setTimeout(() => console.log(`${child.pid} ${folder}`), 100);
