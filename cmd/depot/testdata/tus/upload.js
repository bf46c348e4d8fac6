// Uploads a file with tus-js-client: upload.js FILE ENDPOINT [UPLOAD_URL].
// With UPLOAD_URL it resumes that upload. It prints "url URL" once the upload
// exists, "at N" for each acknowledged piece, and "done" at the end.
const fs = require('fs')
const tus = require('tus-js-client')

const [file, endpoint, uploadUrl] = process.argv.slice(2)
const { size } = fs.statSync(file)
const upload = new tus.Upload(fs.createReadStream(file), {
  endpoint,
  uploadUrl,
  uploadSize: size,
  chunkSize: 1 << 20,
  retryDelays: null,
  headers: { Authorization: 'Bearer ' + process.env.DEPOT_TOKEN },
  metadata: { filename: 'tus.img', type: 'test' },
  onUploadUrlAvailable: () => console.log('url ' + upload.url),
  onChunkComplete: (_, accepted) => console.log('at ' + accepted),
  onError: (err) => { console.error(String(err)); process.exit(1) },
  onSuccess: () => console.log('done'),
})
upload.start()
