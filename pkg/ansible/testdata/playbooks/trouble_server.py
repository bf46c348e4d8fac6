# SPDX-License-Identifier: Apache-2.0
import http.server,sys,time
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path=='/slow': time.sleep(30); return
        if self.path=='/file': self.send_response(200); self.send_header('Content-Length','2'); self.end_headers(); self.wfile.write(b'hi'); return
        self.send_response(int(self.path.strip('/')),None); self.send_header('Content-Length','0'); self.end_headers()
    def log_message(self,*a): pass
http.server.ThreadingHTTPServer(('127.0.0.1',18734),H).serve_forever()
