/** A reporter for `node --test`: one JSON object a line, for each test that has ended. */
export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type === 'test:pass') yield `${JSON.stringify({ test: data.name })}\n`;
    if (type === 'test:fail') {
      const { error } = data.details;
      const message = String(error.cause?.message ?? error.cause ?? error.message);
      const problem = message
        .replace('Expected values to be strictly equal:', '')
        .replace(/\s+/g, ' ')
        .trim();
      yield `${JSON.stringify({ test: data.name, problem })}\n`;
    }
  }
}
