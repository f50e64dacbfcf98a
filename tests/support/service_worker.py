"""
Run the service in this process and print its port: `service_worker.py DATABASE CLOCK`.
"""

import sys
import threading

from services import FileClock

from petstore_tools.service.app import Service
from petstore_tools.service.database import Database
from petstore_tools.service.server import ThreadedServer

where, clock = sys.argv[1:]
service = Service(Database(where, own_time=False), FileClock(clock))
print(ThreadedServer(service).start().base_url, flush=True)
threading.Event().wait()
