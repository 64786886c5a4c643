const STEP_MS = 50;
const PATIENCE_MS = 60_000;

/** Asks again until there is an answer; for what stands outside of tests, where nothing else polls. */
export async function until<Value>(ask: () => Promise<Value | undefined | false>): Promise<Value> {
  for (let waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  throw new Error(`Nothing came of it within ${PATIENCE_MS / 1_000} s.`);
}
