let calls = 0;

export const run = () => ({ calls: ++calls, price: 'high' });
