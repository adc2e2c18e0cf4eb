export function get(path: string, body: object) { return fetch(path, body); }
